"""The pages: each reads, makes a value of console.views, and names the template that shows it."""
