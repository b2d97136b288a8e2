// Package search finds words in transcripts: an index in a file of its own, beside any
// store that has none.
//
//	store ──► Index.Index: what is new of each log ──► FTS5 ──► Index.Search ──► hits
//
// The index runs behind the log and is never waited for: it is brought up to date when
// somebody searches, or when the host likes. It holds the words and where they are; the
// texts stay in the store, and are read there for what is shown. It can be thrown away
// at any time: the next Index makes it anew. A session that was deleted, and a record
// that was erased, is not found any more once Index has returned, and its words are out
// of the file.
//
//	x, err := search.Open(ctx, "index.db", store)
//	if err != nil { … }
//	defer x.Close()
//	err = x.Index(ctx)
//	hits, err := x.Search(ctx, session.Search{Words: `"no such file" deploy*`, Tool: "Bash"})
//
// Words are taken apart as package internal/session/searchtext says, so that every
// index of this module finds the same.
package search
