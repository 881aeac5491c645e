"""Arms: memories under test, one small file each, all behind the Memory protocol."""
