// Package convert imports sessions from other programs and exports Holdfast's sessions to formats
// that other programs and people can read.
//
//	Claude Code  .jsonl ─┐                                      ┌─► the same lines again, byte for byte
//	Codex rollout .jsonl ├─► plan ─► items ─► pairing ─► the log ─┼─► another program's format, from the items
//	Open Agent SDK .json │            + the lines as they were    └─► Markdown, HTML, text
//	Holdfast      .jsonl ┘            records with their digests ────► Holdfast's .jsonl
//
// The original lines are stored with the items made from them. An imported session is therefore
// exported to its own format byte for byte, including lines of unknown types, followed by what was
// added to the session since. Importing a file again does nothing, or adds what was appended to it;
// see vendorMapping.
//
// The shortest use:
//
//	found, err := convert.Find("/home/me/.claude", convert.Auto)
//	for _, src := range found.Sources {
//		report, err := convert.Import(ctx, sessions, src, nil)
//	}
//	err = convert.Export(ctx, os.Stdout, sessions, id, convert.Markdown)
//
// A file is read twice, line by line: first to find how its entries are linked, which needs some
// hundred bytes of memory per line, then for their content. The formats are described in
// docs/convert.md. The package does not call models and does not print.
package convert
