// Package history repairs transcripts and renders them as text.
//
//	broken items ─► Repair ─► items that keep the pairing rule, and notes about the changes
//	items ────────► Render ─► text for a model that cannot get the items themselves
//
// [UnknownOutcome], [NotStarted] and similar functions make the items that answer tool uses
// without a result. The package does no I/O.
package history
