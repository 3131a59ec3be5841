"""The figures of papers and of the documents, a folder a paper."""
