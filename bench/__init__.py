"""Every hot path beside what people use today: `python -m bench [NAME…] [--json]`."""
