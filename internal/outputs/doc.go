// Package outputs keeps the long outputs of commands below $HOLDFAST_HOME/output, beside the
// store: masked as records are, sealed when the store is, and erased with their session.
//
//	internal/tool/shell ─ text ─► Keeper.Keep ─ masked, sealed ─► output/run-…/SESSION-USE-RANDOM.txt
//	Read, Grep ◄──────── Keeper.Open ◄───────────────────┘
//	session.Redact, session.Delete ─► Holder.Find, Erase, Forget
//
// The name of a file says whose it is without saying what the session is called. Files of
// older versions (output-….txt) are found by the records that name them.
package outputs
