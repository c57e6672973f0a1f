"""What runs on the far side: started without `motet`, so nothing here may import the rest of the package."""
