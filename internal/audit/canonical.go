package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Canonical returns the canonical JSON (RFC 8785) of a value: members sorted by name, no
// spaces, numbers as in ECMAScript. Equal values give the same bytes, and so the same digest,
// in every program.
//
// It returns an error for an integer beyond 2^53 that a double cannot represent, because the
// integer would become another number. It also returns an error for JSON text with duplicate member
// names or half of a surrogate pair.
func Canonical(v any) ([]byte, error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("audit: canonical JSON: %w", err)
		}
	}
	out, err := canonical(raw)
	if err != nil {
		return nil, fmt.Errorf("audit: canonical JSON: %w", err)
	}
	return out, nil
}

func canonical(raw []byte) ([]byte, error) {
	switch {
	case !utf8.Valid(raw):
		return nil, errors.New("the text is not UTF-8")
	case !json.Valid(raw):
		return nil, errors.New("the text is not JSON")
	}
	if err := exactNumbers(raw); err != nil {
		return nil, err
	}
	return jcs.Transform(raw)
}

// exactNumbers rejects integers whose value would change in a double. raw is valid JSON.
func exactNumbers(raw []byte) error {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = afterString(raw, i)
		case c == '-' || c >= '0' && c <= '9':
			end, whole := i+1, true
			for ; end < len(raw) && inNumber(raw[end]); end++ {
				whole = whole && raw[end] >= '0' && raw[end] <= '9'
			}
			if whole && end-i > 15 { // shorter ones are exact
				if err := exactNumber(string(raw[i:end])); err != nil {
					return err
				}
			}
			i = end
		default:
			i++
		}
	}
	return nil
}

func exactNumber(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsInf(f, 0) {
		if out, err := jcs.NumberToJSON(f); err == nil && out == text {
			return nil
		}
	}
	return fmt.Errorf("the number %.40s is not exact in a double; write it as a string", text)
}

func inNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// afterString returns the index after the string that starts at i.
func afterString(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}
