"""Report the changes in a group as text, Markdown and JSON.

`model` chooses the rows, and `headline` and `verdict` write the sentences that all formats share. `text`,
`markdown` and `json` are the formats.
"""
