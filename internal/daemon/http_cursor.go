package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

const cursorChecksumSize = 12 // bytes

// cursor returns the token for the next page of a list. It contains the position, and is valid only
// for the same route with the same filters. It stays valid after a restart. Its checksum only
// detects mistakes; the content of the cursor is not secret.
func (c *call) cursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.cursorChecksum(after), after...))
}

// after returns the position that the cursor in the query contains; [call.cursor] made the cursor
// from it.
func (c *call) after() (string, error) {
	token := c.query["cursor"]
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= cursorChecksumSize || !bytes.Equal(b[:cursorChecksumSize], c.cursorChecksum(string(b[cursorChecksumSize:]))) {
		return "", refuse(outcome.Usage, "the cursor does not belong to this list with these filters", "restart the list without a cursor")
	}
	return string(b[cursorChecksumSize:]), nil
}

func (c *call) cursorChecksum(after string) []byte {
	h := sha256.New()
	add := func(s string) {
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	add("1")
	add(c.r.URL.Path)
	for _, p := range c.route.Query {
		if p.Name != "cursor" && p.Name != "limit" {
			add(c.query[p.Name])
		}
	}
	add(after)
	return h.Sum(nil)[:cursorChecksumSize]
}
