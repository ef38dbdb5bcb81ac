"""How the tables came to be: one revision after the other, run by Alembic inside one transaction."""
