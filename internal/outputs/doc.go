// Package outputs stores the long outputs of commands below $HOLDFAST_HOME/output, next to the store. They
// are masked like records, encrypted if the store is, and erased with their session.
//
//	internal/tool/shell ─ text ─► Files.Write ─ masked, sealed ─► output/run-…/SESSION-USE-RANDOM.txt
//	Read, Grep ◄──────── Files.Open ◄───────────────────┘
//	session.Redact, session.Delete ─► Eraser.Find, Erase, Forget
//
//	out, err := files.Write(ctx, session, use, text) // the caller writes out.File to out.Name
//	text, err := files.Open(ctx, path, content)
//
// The name of a file identifies its session by a hash, without the session's id. Files of older versions
// (output-….txt) are found through the records that name them.
package outputs
