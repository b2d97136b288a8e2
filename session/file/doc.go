// Package file keeps session logs as plain files that a person can read, grep
// and copy: one directory per session, one line per record.
//
//	<dir>/                      0700
//	  .format                   "holdfast file store 1"
//	  .lock                     held while sessions come and go
//	  .epoch                    the highest lease epoch of all deleted sessions
//	  .deleted-<id>/            deleted, but forks still need its records
//	  <id>/                     0700, one session
//	    log.jsonl               0600, the truth
//	    meta.json               a cache of what the log amounts to; may be deleted
//	    lease                   who may write
//	    lock                    held (flock) during each append
//	    torn-<offset>-<n>.bin   n bytes that a crash left behind the last record
//
// A line of log.jsonl is the length of its JSON, its CRC-32C, and the JSON:
//
//	000001c3 9f04ae21 {"seq":7,"id":"…","time":"2026-01-02T15:04:05.000Z","kind":"item","payload":{…},"prev":"…","body":"…","digest":"…"}
//
// Records of one batch that is not yet over carry "left":n after their seq. A
// batch counts when its last line is whole; what a crash leaves behind that is
// put aside when the session is next opened for writing.
//
// The shortest use:
//
//	store, err := file.Open("/var/lib/agent/sessions", nil)
//	if err != nil { … }
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// An append is one write and one fdatasync. Several processes may use a
// directory at once: appends exclude each other, lease epochs decide who may
// write, and readers take no lock. The directory must be on a local file
// system: over a network neither flock nor fdatasync mean what they should.
//
// It is not a database: listing looks at every session, and nothing is indexed
// by content. See docs/formats/file.md for the format.
package file
