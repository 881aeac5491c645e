"""Pages of HTML: one answer, a cohort of them, a comparison, solved cases; ``style`` escapes and has the one sheet."""
