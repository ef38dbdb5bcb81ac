"""The dashboard: pages rendered here, readable without scripts, kept fresh by one small script of our own."""
