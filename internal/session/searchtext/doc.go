// Package searchtext says what of a transcript can be searched, and what it is to find
// a word in it. Every index of transcripts uses it, so that all of them find the same.
//
//	session.Record ──► Reader.Read ──► Entry (role, tool, text) ──► an index
//	session.Search.Words ──► ParseWords ──► Words.Find ──► marks ──► Excerpt
//
// A text is a row of words: runs of letters, digits and what is combined with them, in
// lower case and without accents; a character of a script that puts no spaces between
// words is a word of its own. What stands between words does not count. The package has
// no index and reads no store.
package searchtext
