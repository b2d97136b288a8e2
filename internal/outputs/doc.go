// Package outputs keeps the long outputs of commands below $HOLDFAST_HOME/output, beside the
// store: masked as records are, sealed when the store is, and erased with their session.
//
//	internal/tool/shell ─ text ─► Files.Write ─ masked, sealed ─► output/run-…/SESSION-USE-RANDOM.txt
//	Read, Grep ◄──────── Files.Open ◄───────────────────┘
//	session.Redact, session.Delete ─► Eraser.Find, Erase, Forget
//
// The name of a file says whose it is without saying what the session is called. Files of
// older versions (output-….txt) are found by the records that name them.
package outputs
