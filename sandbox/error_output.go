package sandbox

import (
	"slices"
	"strings"
)

// fault is the kind of error that a line of standard error reports.
type fault int

const (
	faultNone     fault = iota
	faultReadOnly       // EROFS
	faultDenied         // EACCES
	faultPerm           // EPERM
	faultBusy           // EBUSY: a name that cannot be moved or removed
	faultLarge          // EFBIG
	faultFork           // EAGAIN of fork and clone
	faultMissing        // ENOENT, which some programs report for EROFS
	faultHost           // a name that cannot be resolved, or no network
)

// phrases are the messages of strerror and similar functions, in lower case.
var phrases = []struct {
	text  string
	fault fault
}{
	{"read-only file system", faultReadOnly},
	{"permission denied", faultDenied},
	{"access denied", faultDenied},
	{"accessdeniedexception", faultDenied},
	{"operation not permitted", faultPerm},
	{"device or resource busy", faultBusy},
	{"resource busy or locked", faultBusy},
	{"file too large", faultLarge},
	{"file size limit exceeded", faultLarge},
	{"resource temporarily unavailable", faultFork},
	{"cannot fork", faultFork},
	{"enoent: no such file or directory", faultMissing},
	{"could not resolve host", faultHost},
	{"unable to resolve host", faultHost},
	{"eai_again", faultHost},
	{"enotfound", faultHost},
	{"no such host", faultHost},
	{"name resolution", faultHost},
	{"name or service not known", faultHost},
	{"network is unreachable", faultHost},
}

// errorLine is a line of standard error that names a system error, with the words in it that may be
// the subject of the error, the most likely first.
type errorLine struct {
	fault fault
	names []string
	makes bool // true if the program tried to create a folder
	write bool // true if the program tried to create, change or remove something
	port  bool // true if the program tried to listen on a port
}

// maxErrorLines is the number of lines of output that are examined closely.
const maxErrorLines = 64

// errorLines finds the errors that programs reported in their own words.
func errorLines(text string) []errorLine {
	var out []errorLine
	var above []string
	for row := range strings.SplitSeq(text, "\n") {
		row = strings.TrimRight(row, "\r")
		at, phrase, f := findPhrase(row)
		if f != faultNone {
			c := errorLine{fault: f, makes: containsAny(row, []string{"mkdir"}), write: containsAny(row, writeWords), port: containsAny(row, portWords)}
			if f == faultHost {
				c.names = hostNames(row)
			} else {
				c.names = pathNames(row, at, at+len(phrase))
			}
			if len(c.names) == 0 {
				// The cause is on a line by itself, and its subject is on an earlier line.
				for _, up := range above {
					c.names = append(c.names, quoted(up)...)
					c.write = c.write || containsAny(up, writeWords)
				}
			}
			for _, up := range above {
				c.port = c.port || containsAny(up, portWords) // a traceback has the call further up
			}
			if out = append(out, c); len(out) > maxErrorLines {
				out = out[1:]
			}
		}
		if above = append(above, row); len(above) > 3 {
			above = above[1:]
		}
	}
	return out
}

func findPhrase(row string) (at int, phrase string, f fault) {
	lower := strings.ToLower(row)
	if len(lower) != len(row) {
		return 0, "", faultNone // some letters have a different length in lower case, so this is not a known message
	}
	for _, p := range phrases {
		at := strings.LastIndex(lower, p.text)
		if at >= 0 && (at == 0 || lower[at-1] < 'a' || lower[at-1] > 'z') { // not FileNotFoundError for ENOTFOUND
			return at, p.text, p.fault
		}
	}
	return 0, "", faultNone
}

// writeWords occur in messages about failed writes.
var writeWords = []string{
	"creat", "touch", "write", "writing", "remov", "delet", "unlink", "renam", "move", "mkdir", "rmdir", "lock", "sav", "append",
	"truncat", "symlink", "symbolic", "copy", "mode of", "permissions of", "ownership", "times of", "install", "w+", "'w'",
}

// portWords occur in messages about a port that a program tried to listen on.
var portWords = []string{".bind(", "bind()", "bind:", "bind to", "listen eacces", "listen eperm", "listen tcp", "listen udp", "socket.__init__"}

func containsAny(row string, words []string) bool {
	lower := strings.ToLower(row)
	for _, w := range words {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// pathNames returns the words around a message that may be a path: quoted text, the text before it
// between colons, and the text after it.
func pathNames(row string, from, to int) []string {
	names := quoted(row)
	before := strings.TrimRight(row[:from], " ([:")
	if i := strings.LastIndex(before, " [Errno"); i >= 0 {
		before = before[:i]
	}
	pieces := strings.Split(before, ": ")
	for _, piece := range slices.Backward(pieces[max(0, len(pieces)-3):]) {
		if strings.HasPrefix(piece, "/") {
			names = appendNew(names, piece)
		}
		if i := strings.Index(piece, " /"); i >= 0 {
			names = appendNew(names, piece[i+1:])
		}
		if i := strings.LastIndexByte(piece, ' '); i >= 0 {
			names = appendNew(names, piece[i+1:])
		}
		names = appendNew(names, piece)
	}
	after := strings.TrimSuffix(row[to:], ")")
	for _, mark := range []string{": ", " - "} { // the second is Ruby's
		if _, rest, found := strings.Cut(after, mark); found {
			name, _, _ := strings.Cut(rest, " (")
			names = appendNew(names, name)
		}
	}
	return names
}

func appendNew(names []string, name string) []string {
	name = strings.Trim(name, " \t'\"`‘’“”")
	if name == "" || len(name) > maxName || strings.ContainsRune(name, 0) || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// maxName is the length of the longest path that is examined.
const maxName = 4096

// quotes are the pairs of characters that open and close quoted text in messages.
var quotes = [][2]string{{"'", "'"}, {"\"", "\""}, {"‘", "’"}, {"“", "”"}, {"`", "'"}, {"`", "`"}}

// quoted returns the quoted text in a line. An apostrophe inside a word does not open a quotation.
func quoted(row string) []string {
	var names []string
	for i := 0; i < len(row); {
		name, next := quotedAt(row, i)
		if next > i {
			names = appendNew(names, name)
			i = next
			continue
		}
		i++
	}
	return names
}

func quotedAt(row string, i int) (name string, next int) {
	if i > 0 && !strings.ContainsRune(" \t(=:,[", rune(row[i-1])) {
		return "", i
	}
	for _, q := range quotes {
		if !strings.HasPrefix(row[i:], q[0]) {
			continue
		}
		start := i + len(q[0])
		for at := start; ; {
			n := strings.Index(row[at:], q[1])
			if n < 0 {
				break
			}
			end := at + n + len(q[1])
			if end == len(row) || strings.ContainsRune(" \t):,;].", rune(row[end])) {
				return row[start : at+n], end
			}
			at = end
		}
	}
	return "", i
}

// hostNames returns the host that a message about the network names, if any.
func hostNames(row string) []string {
	lower := strings.ToLower(row)
	for _, before := range []string{
		"resolve host address ", "resolve hostname ", "resolve host: ", "resolve host ", "eai_again ", "enotfound ", "lookup ", "host=", "://",
	} {
		i := strings.Index(lower, before)
		if i < 0 || len(lower) != len(row) {
			continue
		}
		name := strings.TrimLeft(row[i+len(before):], "'\"‘“")
		if end := strings.IndexAny(name, " '\"’”/,;:)"); end >= 0 {
			name = name[:end]
		}
		if name = strings.TrimSuffix(name, "."); name != "" {
			return []string{name}
		}
	}
	return nil
}
