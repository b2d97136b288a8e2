// Package searchtext extracts searchable text from transcripts and defines how words
// match. All search indexes use it, so that they find the same texts.
//
//	session.Record ──► Reader.Read ──► Entry (role, tool, text) ──► an index
//	session.Search.Words ──► ParseWords ──► Words.Find ──► marks ──► Excerpt
//
// A text is a sequence of words: runs of letters, digits and combining marks, in
// lower case and without accents; a character of a script that puts no spaces between
// words is a separate word. Characters between words are ignored. The package has
// no index and reads no store.
package searchtext
