package session

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIDBytes is the maximum length of a session id.
const maxIDBytes = 128

// CheckID returns an [Error] that wraps [ErrInvalidID] if id is not a valid session id. An id is 1
// to 128 bytes of UTF-8 without "/", "\", "..", control or invisible characters. It does not start
// with a dot or a dash, and does not start or end with a space. These are the Open Agent SDK's
// rules and some that the SDK leaves out.
func CheckID(id string) error {
	bad := func(format string, args ...any) error {
		return &Error{
			Op: "check id", Err: ErrInvalidID, Detail: fmt.Sprintf(format, args...),
			Hint: "use letters, digits, '-' and '_'",
		}
	}
	if id == "" {
		return bad("Session ID must not be empty")
	}
	if len(id) > maxIDBytes {
		return bad("Session ID is %d bytes long, at most %d are allowed", len(id), maxIDBytes)
	}
	if !utf8.ValidString(id) {
		return bad("Session ID is not UTF-8")
	}
	for _, s := range []string{"/", "\\", ".."} {
		if strings.Contains(id, s) {
			return bad("Session ID contains invalid character: '%s'", s)
		}
	}
	for _, r := range id {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return bad("Session ID contains invalid character: %q", r)
		}
	}
	if id[0] == '.' || id[0] == '-' {
		return bad("Session ID starts with %q", id[0])
	}
	if strings.TrimSpace(id) != id {
		return bad("Session ID starts or ends with a space")
	}
	return nil
}
