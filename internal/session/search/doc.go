// Package search searches transcripts with an index in a separate file, for every
// store without its own index.
//
//	store ──► Index.Index: what is new of each log ──► FTS5 ──► Index.Search ──► hits
//
// The index lags behind the log, and appends never wait for it: it is updated before
// a search, or whenever the program calls Index. It contains words and their positions; the
// texts stay in the store and are read from there for the excerpts. It can be deleted
// at any time: the next Index recreates it. A session that was deleted, and a record
// that was erased, is no longer found once Index has returned, and its words are removed
// from the file.
//
//	x, err := search.Open(ctx, "index.db", store)
//	if err != nil { … }
//	defer x.Close()
//	err = x.Index(ctx)
//	hits, err := x.Search(ctx, session.Search{Words: `"no such file" deploy*`, Tool: "Bash"})
//
// Package internal/session/searchtext splits texts into words, so that all indexes of this module
// find the same texts.
package search
