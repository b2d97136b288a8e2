package workspace

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes. In settings it is written as "512m" or "2g", or as a plain number.
// The units k, m, g and t are powers of 1024.
type Bytes int64

// Unlimited means that there is no limit. Not every setting allows it.
const Unlimited Bytes = -1

var units = []struct {
	name  string
	bytes Bytes
}{{"t", 1 << 40}, {"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}}

// ParseBytes parses a number of bytes; "none" is [Unlimited]. Its error wraps [ErrInvalid].
func ParseBytes(text string) (Bytes, error) {
	bad := &Error{
		Op: "read size", Err: ErrInvalid, Detail: fmt.Sprintf("%.60q is not a number of bytes", text),
		Advice: `write "512m" or "2g"`,
	}
	number, unit := strings.ToLower(text), Bytes(1)
	if number == "none" {
		return Unlimited, nil
	}
	if cut := strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i"); len(cut) < len(number) {
		if cut == "" || cut[len(cut)-1] >= '0' && cut[len(cut)-1] <= '9' {
			return 0, bad
		}
		number = cut
	}
	for _, u := range units {
		if cut, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = cut, u.bytes
			break
		}
	}
	if strings.Trim(number, "0123456789.") != "" {
		return 0, bad
	}
	f, err := strconv.ParseFloat(number, 64)
	if f *= float64(unit); err != nil || f != math.Trunc(f) || f >= math.MaxInt64 {
		return 0, bad
	}
	return Bytes(f), nil
}

// String returns the shortest text that is exact.
func (b Bytes) String() string {
	if b == Unlimited {
		return "none"
	}
	for _, u := range units {
		if b >= u.bytes && b%u.bytes == 0 {
			return strconv.FormatInt(int64(b/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalJSON writes the value that String returns.
func (b Bytes) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// UnmarshalJSON reads a string or a whole number.
func (b *Bytes) UnmarshalJSON(source []byte) error {
	text := string(source)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(source, &text); err != nil {
			return err
		}
	} else if strings.Trim(text, "0123456789") != "" {
		text = "" // null, true, 1.5, …
	}
	n, err := ParseBytes(text)
	*b = n
	return err
}
