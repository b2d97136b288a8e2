// Package session keeps what an agent said and did, so that it can go on after
// anything.
//
//	                     ┌──────────── Sessions ────────────┐
//	an agent ── Restore ─►  Log ── Append ──► record, record, record ─┐
//	a host ─── Save Load ►                                            │ one log per session,
//	a list ─── List Find ►  Meta ◄── follows from the records ────────┤ chained by digests
//	an audit ─ Verify ───►                                            │
//	                     └────────────────┬─────────────────┘         │
//	                                    Store ◄───────────────────────┘
//	       memory · file · sqlite · postgres · mysql · redis · object · your own
//	       around one of them: encrypted · mirror · redacting
//
// A session is one append-only log of [Record] values. Everything else is a
// view of it: the transcript is its items after the last rewrite, a restart is
// [Sessions.StateAt], a fork is a new log that begins at a record of another, and the
// [Meta] of a list is folded from the records by the store in the transaction
// that appends them. Nothing is ever overwritten; a compaction, a repair and a
// truncation are records too, and what was there before stays readable.
//
// The shortest use keeps a transcript:
//
//	sessions := session.New(memory.New(), nil)
//	err := sessions.Save(ctx, "my-session", items, nil)
//	loaded, err := sessions.Load(ctx, "my-session", &session.LoadOptions{Limit: 50})
//
// An agent opens the log instead and appends as it goes:
//
//	r, err := sessions.Restore(ctx, session.RestoreOptions{SessionID: id})
//	defer r.Log.Close()
//	_, err = r.Log.Append(ctx, session.ItemDraft(item, false, nil))
//
// A [Log] holds the session's lease: there is one writer, and who loses the
// lease gets [ErrFenced] instead of overwriting. Renaming, answering a question
// and changing the mode ([Kind.Shared]) work without it.
//
// Every store keeps the same promises; package sessiontest is what holds it to them,
// also one of your own. Packages search and convert find words in transcripts and read
// and write the files of other programs.
//
// The package does no I/O of its own but for [project.ID] and [thisProcess]. It
// runs no agent (package agent) and knows no model's wire. The format of the
// records is described in docs/formats/session-log.md.
package session
