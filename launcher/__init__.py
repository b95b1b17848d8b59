"""The user side: a wish becomes a job spec in the bucket; queues, reasons and logs come back."""
