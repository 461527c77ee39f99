"""What MIG is: models, profiles, geometries, resource names, configurations."""
