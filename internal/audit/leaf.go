package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// leaf is one line of a trail. It means that a log ended with a certain record, or that a session
// was deleted on purpose.
type leaf struct {
	session string
	seq     int64
	digest  session.Digest
	deleted bool
	time    time.Time
}

// leafTime is the layout of times, in UTC.
const leafTime = "2006-01-02T15:04:05.000Z"

// maxLeaf is the maximum length of a line in bytes; an id has at most 128 bytes.
const maxLeaf = 512

// append appends the leaf's line, with its line break, to b. The line is canonical JSON (RFC 8785).
// In a session id, only quotes need escaping.
func (l leaf) append(b []byte) []byte {
	if l.deleted {
		b = append(b, `{"deleted":true`...)
	} else {
		b = append(b, `{"digest":"`...)
		b = append(b, l.digest.String()...)
		b = append(b, `","seq":`...)
		b = strconv.AppendInt(b, l.seq, 10)
	}
	b = append(b, `,"session":"`...)
	b = append(b, strings.ReplaceAll(l.session, `"`, `\"`)...)
	b = append(b, `","time":"`...)
	b = l.time.UTC().AppendFormat(b, leafTime)
	return append(b, '"', '}', '\n')
}

var errNotLeaf = errors.New("not a leaf: a line of canonical JSON with digest, seq, session and time, or deleted, session and time")

// parseLeaf reads a line without its line break. It accepts only lines that append writes.
func parseLeaf(line []byte) (leaf, error) {
	var raw struct {
		Digest  session.Digest `json:"digest"`
		Seq     int64          `json:"seq"`
		Session string         `json:"session"`
		Time    string         `json:"time"`
		Deleted bool           `json:"deleted"`
	}
	if !looksLikeLeaf(line) || json.Unmarshal(line, &raw) != nil || session.CheckID(raw.Session) != nil {
		return leaf{}, errNotLeaf
	}
	at, err := time.Parse(leafTime, raw.Time)
	if err != nil || !raw.Deleted && raw.Seq < 1 {
		return leaf{}, errNotLeaf
	}
	l := leaf{session: raw.Session, seq: raw.Seq, digest: raw.Digest, deleted: raw.Deleted, time: at}
	if again := l.append(make([]byte, 0, maxLeaf)); !bytes.Equal(again[:len(again)-1], line) {
		return leaf{}, errNotLeaf
	}
	return l, nil
}

// looksLikeLeaf is a quick check of a line. It returns false for what a crash leaves behind.
func looksLikeLeaf(line []byte) bool {
	return len(line) > 2 && len(line) < maxLeaf && line[0] == '{' && line[len(line)-1] == '}' && bytes.IndexByte(line, 0) < 0
}

// completeLines returns the length in bytes of the plausible lines at the start of b.
func completeLines(b []byte) int {
	n := 0
	for {
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 || !looksLikeLeaf(b[n:n+i]) {
			return n
		}
		n += i + 1
	}
}

// lastOf finds the last leaf of a session among the complete lines of b.
func lastOf(b []byte, id string) (leaf, bool) {
	name := []byte(`"session":"` + strings.ReplaceAll(id, `"`, `\"`) + `","`)
	i := bytes.LastIndex(b, name)
	if i < 0 {
		return leaf{}, false
	}
	start := bytes.LastIndexByte(b[:i], '\n') + 1
	end := bytes.IndexByte(b[i:], '\n')
	if end < 0 {
		return leaf{}, false
	}
	l, err := parseLeaf(b[start : i+end])
	return l, err == nil
}
