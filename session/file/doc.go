// Package file stores each session as a directory of plain files that you can read, grep
// and copy. The log has one JSON line per record.
//
//	<dir>/                      0700
//	  .format                   "holdfast file store 1"
//	  .lock                     locked while sessions are created and deleted
//	  .epoch                    the highest lease epoch of all deleted sessions
//	  .deleted-<id>/            deleted, but forks still need its records
//	  <id>/                     0700, one session
//	    log.jsonl               0600, the log
//	    meta.json               a cache computed from the log; may be deleted
//	    lease                   the current lease
//	    lock                    locked (flock) during each append
//	    torn-<offset>-<n>.bin   n bytes of a torn append, moved here by a repair
//
// A line of log.jsonl is the length of its JSON, its CRC-32C, and the JSON:
//
//	000001c3 9f04ae21 {"seq":7,"id":"…","time":"2026-01-02T15:04:05.000Z","kind":"item","payload":{…},"prev":"…","body":"…","digest":"…"}
//
// A record that is not the last of its batch has "left":n, where n is the number of records that
// follow in the batch. A batch is valid when its last line is complete; bytes of a torn batch are
// moved to a separate file when the session is next opened for writing.
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
// system: network file systems do not guarantee flock and fdatasync.
//
// It is not a database: listing checks every session, and nothing is indexed
// by content. See docs/formats/file.md for the format.
package file
