"""What all experiments share: points and rows, results that can be resumed, tables, pictures, loads, clocks."""
