// Package session stores the log of an agent's session, so that it can be resumed after any
// failure.
//
//	                       ┌──────────── Sessions ────────────┐
//	an agent ──── Restore ─►  Log ── Append ──► record, record, record ─┐
//	a program ─ Save, Load ►                                            │ one log per session,
//	a list ──── List, Find ►  Meta ◄── computed from the records ───────┤ chained by digests
//	an audit ────── Verify ►                                            │
//	                       └────────────────┬─────────────────┘         │
//	                                      Store ◄───────────────────────┘
//	       memory · file · sqlite · postgres · mysql · redis · object · your own
//	       wrappers around a store: encrypted · mirror · redacting
//
// A session is one append-only log of [Record] values. Everything else is derived from it:
//
//	transcript   the items after the last rewrite
//	state        the log replayed up to a record ([Sessions.StateAt])
//	fork         a new log that starts at a record of another one
//	meta         what lists show; the store updates it in the transaction of each append
//
// Records are never overwritten. A compaction, a repair and a truncation are records too, and the
// earlier transcript stays readable. The one exception is [Sessions.Redact], which erases
// payloads.
//
// The shortest use stores a transcript:
//
//	sessions := session.New(memory.New(), nil)
//	err := sessions.Save(ctx, "my-session", items, nil)
//	loaded, err := sessions.Load(ctx, "my-session", &session.LoadOptions{Limit: 50})
//
// An agent opens the log instead and appends to it:
//
//	r, err := sessions.Restore(ctx, session.RestoreOptions{SessionID: id})
//	defer r.Log.Close()
//	_, err = r.Log.Append(ctx, session.ItemDraft(item, false, nil))
//
// An open [Log] holds the session's lease, so that each session has one writer. A writer that lost
// the lease gets [ErrFenced] and cannot overwrite. Shared records ([Kind.Shared]), such as a new
// title, an answer to an approval request or a change of mode, need no lease.
//
// All stores follow the same contract, which package sessiontest checks. Use that package to test
// your own store. Packages internal/session/search and internal/session/convert search transcripts
// and convert the files of other programs.
//
// The package does no I/O itself, except in [project.ID] and [thisProcess]. It does not run agents,
// which is the task of package agent, and does not depend on the format of a model provider.
// docs/formats/session-log.md describes the records.
package session
