// Package convert brings sessions in from other programs, and writes ours so that
// other programs and people can read them.
//
//	Claude Code  .jsonl ─┐                                      ┌─► the same lines again, byte for byte
//	Codex rollout .jsonl ├─► plan ─► items ─► pairing ─► our log ─┼─► another program's format, from the items
//	Open Agent SDK .json │            + the lines as they were    └─► Markdown, HTML, text
//	our own       .jsonl ┘            records with their digests ────► our own .jsonl
//
// What another program has written is kept beside the items that are made of it, so a
// session that was imported is exported to the same format as it was, lines of unknown
// types included; what was added here since follows in that format. Importing a file
// again does nothing, or adds what was appended to it; see vendorMapping.
//
// The shortest use:
//
//	found, err := convert.Find("/home/me/.claude", convert.Auto)
//	for _, src := range found.Sources {
//		report, err := convert.Import(ctx, sessions, src, nil)
//	}
//	err = convert.Export(ctx, os.Stdout, sessions, id, convert.Markdown, nil)
//
// A file is read twice and line by line: first for how its entries hang together, of
// which some hundred bytes per line are kept, then for what they say. The formats are
// described in docs/convert.md. The package knows no model's wire and does not print.
package convert
