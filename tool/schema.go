package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

const (
	maxDepth   = 64      // nesting of an input
	maxInteger = 1 << 53 // above this number, JSON numbers lose digits in other programs
)

// schema is a tool's input schema. It is immutable.
type schema struct {
	text     json.RawMessage // for the model
	optional []string        // top-level fields for which null means that they are absent
	resolve  func() (*jsonschema.Resolved, error)
}

func parseSchema(raw json.RawMessage) (*schema, error) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	made, err := newSchema(s)
	if err != nil {
		return nil, err
	}
	made.text = slices.Clone(raw)
	resolved, err := s.Resolve(nil)
	made.resolve = func() (*jsonschema.Resolved, error) { return resolved, nil }
	return made, err
}

func newSchema(s *jsonschema.Schema) (*schema, error) {
	if s.Type != "object" {
		return nil, errors.New("want an object")
	}
	out := &schema{}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) && p.Type != "null" && !slices.Contains(p.Types, "null") {
			out.optional = append(out.optional, name)
		}
	}
	return out, nil
}

// check validates an input and returns it as JSON that can be decoded into the tool's type: an
// integer written as 5.0 becomes 5. If nothing changes, it returns the given bytes.
func (s *schema) check(raw json.RawMessage) (json.RawMessage, error) {
	r := reader{dec: json.NewDecoder(bytes.NewReader(raw))}
	r.dec.UseNumber()
	v, err := r.value(0)
	if err == nil {
		if _, tail := r.dec.Token(); tail != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the JSON is incomplete")
	}
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a JSON object, got %s", typeName(v))
	}
	for _, name := range s.optional {
		if v, ok := object[name]; ok && v == nil {
			delete(object, name)
		}
	}
	resolved, err := s.resolve()
	if err != nil {
		return nil, err
	}
	if err := resolved.Validate(object); err != nil {
		return nil, errors.New(readableError(err.Error()))
	}
	if r.changed {
		return json.Marshal(object)
	}
	return raw, nil
}

// reader parses JSON strictly into plain values. It rejects duplicate fields, which two programs
// could read differently, and numbers that would lose digits.
type reader struct {
	dec     *json.Decoder
	path    []string
	changed bool
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		return r.number(string(t))
	case json.Delim:
		if t == '[' {
			list := []any{}
			for r.dec.More() {
				v, err := r.value(depth + 1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := r.dec.Token()
			return list, err
		}
		return r.object(depth)
	}
	return token, nil
}

func (r *reader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder returns only strings as keys
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("duplicate field %q", key)
		}
		r.path = append(r.path, key)
		if object[key], err = r.value(depth + 1); err != nil {
			return nil, err
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, err := r.dec.Token()
	return object, err
}

func (r *reader) number(s string) (any, error) {
	at := strings.Join(r.path, ".")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= -maxInteger && n <= maxInteger {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: invalid number %s", at, truncate.String(s, 40))
	case f != math.Trunc(f):
		return f, nil
	case math.Abs(f) >= maxInteger: // also the limit itself: a larger number may have been rounded to it
		return nil, fmt.Errorf("%s: %s is larger than 2^53", at, truncate.String(s, 40))
	}
	r.changed = true
	return int64(f), nil
}

// typeName returns the name of a JSON value's type.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string (is the JSON broken?)"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	}
	return "a number"
}

// readableError converts "validating root: validating /properties/limit: type: …" to "limit: …".
func readableError(s string) string {
	field := ""
	for {
		rest, ok := strings.CutPrefix(s, "validating ")
		if !ok {
			break
		}
		at, tail, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		s, field = tail, at
	}
	for _, word := range []string{"type: ", "required: "} {
		s = strings.TrimPrefix(s, word)
	}
	s = strings.Replace(s, "<invalid reflect.Value> has type", "has type", 1)
	s = strings.Replace(s, "unexpected additional properties", "unknown fields", 1)
	s = strings.Replace(s, "missing properties: ", "missing ", 1)
	field = strings.TrimPrefix(strings.ReplaceAll("/"+strings.Trim(field, "/"), "/properties/", "."), ".")
	field = strings.ReplaceAll(field, "/items", "[]")
	if field == "" || field == "root" || field == "/root" {
		return s
	}
	return field + ": " + s
}
