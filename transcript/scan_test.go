package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

var seeds = []string{
	`{"role":"user","id":"i","parts":[{"type":"text","text":"hi \"there\" \\ \u00e9"}]}`,
	`{"role":"assistant","model":"m","finish":"stop","usage":{"input":1,"output":2},"parts":[{"type":"tool_use","id":"u","name":"T","input":{"a":[1,{"b":"}"}]}}],"native":{"api":"x","json":[]}}`,
	` { "role" : "tool" , "parts" : [ { "type" : "tool_result" , "use_id" : "u" , "content" : [ ] , "is_error" : true } ] } `,
	`{"role":"user","parts":[{"type":"te\"xt"}],"\u0069d":"x","x":1e400,"y":-0.0,"z":null}`,
	`{"role":"user","time":"2026-01-02T03:04:05.000000006+02:00","metadata":{"a":[]},"parts":[{"type":"media","data":"AAEC"},{"type":"custom","kind":"k","value":1}]}`,
	`{"role":"user","id":"a\xff","parts":[{"type":"file","name":"\xc3"},{"type":"structured","value":{},"schema":{}},{"type":"thinking","redacted":true,"data":"d"}]}`,
	`{"a":"\\"}`, `{"a":"\\\""}`, `[[],{},"]"]`, `{"a":{"b":{"c":[{"d":"\""}]}}}`, `{`, `{"`, `{"a"`, `{"a":`, `{"a":"`, `{"a":1`, `{"a":1,`, `[`, `"\`, `{}x`,
	`{"role":"user","parts":[`, `{"role":"user","parts":[1 2]}`, `{"role":"user","parts":[{]}]}`,
}

// view is an object as encoding/json reads it, or nil. Of a duplicate key the first value counts,
// as for Field.
func view(b []byte) (keys []string, first map[string]json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	first = map[string]json.RawMessage{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, nil
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, nil
		}
		key := k.(string)
		keys = append(keys, key)
		if _, ok := first[key]; !ok {
			first[key] = v
		}
	}
	return keys, first
}

func compareView(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte,
) {
	t.Helper()
	keys, first := view(b)
	i := 0
	err := jsonscan.Fields(b, func(k, v []byte) error {
		if i >= len(keys) || string(k) != keys[i] || !json.Valid(v) {
			t.Fatalf("member %d of %q is %q: %q, want %q", i, b, k, v, keys)
		}
		i++
		return nil
	})
	if (err == nil) != (first != nil) || i != len(keys) {
		t.Fatalf("%q has %d members, encoding/json sees %d (%v)", b, i, len(keys), err)
	}
	for k, want := range first {
		if got := jsonscan.Object(b).Field(k); !bytes.Equal(got, want) {
			t.Fatalf("field %q of %q is %q, want %q", k, b, got, want)
		}
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil && len(list) > 0 {
		var got [][]byte
		for v := range jsonscan.Elements(b) {
			got = append(got, v)
		}
		if len(got) != len(list) {
			t.Fatalf("%q has %d elements, want %d", b, len(got), len(list))
		}
		for i := range list {
			if !bytes.Equal(got[i], list[i]) {
				t.Fatalf("element %d of %q is %q", i, b, got[i])
			}
		}
	}
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range seeds {
		if json.Valid([]byte(s)) {
			compareView(t, []byte(s))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := raws.Draw(t, "value")
		if json.Valid(raw) {
			compareView(t, raw)
		}
		compareView(t, anyItem(t).MustEncode().JSON)
	})
}

// FuzzParse checks that invalid JSON is rejected, that accepted items can be decoded, and that the
// scanner agrees with encoding/json.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if json.Valid(b) {
			compareView(t, bytes.TrimSpace(b))
		}
		var e Encoded
		if err := e.Parse(b); err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q is not JSON and was taken", b)
		}
		it, err := e.Decode()
		if err != nil {
			t.Fatalf("taken and not decoded: %v", err)
		}
		var doc struct {
			ID    string `json:"id"`
			Role  Role   `json:"role"`
			Model string `json:"model"`
			Parts []struct {
				Type  string          `json:"type"`
				ID    json.RawMessage `json:"id"`
				UseID json.RawMessage `json:"use_id"`
			} `json:"parts"`
		}
		if exactKeys(b) {
			if err := json.Unmarshal(b, &doc); err != nil {
				t.Fatalf("taken and not JSON of an item: %v", err)
			}
			if doc.ID != e.ID() || doc.Role != e.Role() || doc.Model != e.Model() || len(doc.Parts) != len(it.Parts) {
				t.Fatalf("encoding/json sees %+v, Parse sees %+v", doc, e)
			}
			var uses, results []string
			for _, p := range doc.Parts {
				var id string
				switch p.Type {
				case "tool_use":
					_ = json.Unmarshal(p.ID, &id)
					uses = append(uses, id)
				case "tool_result":
					_ = json.Unmarshal(p.UseID, &id)
					results = append(results, id)
				}
			}
			if !equal(uses, e.UseIDs()) || !equal(results, e.ResultIDs()) {
				t.Fatalf("ids %q %q, want %q %q", e.UseIDs(), e.ResultIDs(), uses, results)
			}
		}
		// Reading and writing is stable after one round.
		first, err := it.Encode()
		if err != nil {
			if utf8.Valid(b) {
				t.Fatalf("%q was taken and cannot be written: %v", b, err)
			}
			return
		}
		again, err := first.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if second := again.MustEncode(); !bytes.Equal(first.JSON, second.JSON) {
			t.Fatalf("written twice:\n%s\n%s", first.JSON, second.JSON)
		}
	})
}

// exactKeys reports whether encoding/json, which ignores the case of keys, reads an item's keys
// like this package.
func exactKeys(b []byte) bool {
	known := []string{"id", "role", "model", "parts", "type", "use_id"}
	exact := func(b []byte) bool {
		keys, _ := view(b)
		for _, k := range keys {
			for _, want := range known {
				if k != want && strings.EqualFold(k, want) {
					return false
				}
			}
		}
		return true
	}
	if !exact(b) {
		return false
	}
	for p := range jsonscan.Object(b).Elements("parts") {
		if !exact(p) {
			return false
		}
	}
	return true
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// FuzzScan checks that arbitrary bytes cause no panic and no read past the end, and that a
// truncated item is never accepted.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		b = slices.Clip(b)
		scanAll(b)
		e, err := index(b)
		if err != nil {
			return
		}
		_ = e.Text()
		_ = e.Uses()
		_ = e.Native("x")
		_, _ = e.Decode()
		whole := bytes.TrimSpace(b)
		if len(whole) == 0 || whole[0] != '{' {
			t.Fatalf("%q was taken for an item", b)
		}
		if json.Valid(b) && cut >= 0 && cut < len(whole) {
			if _, err := index(whole[:cut]); err == nil {
				t.Fatalf("%q was taken for an item", whole[:cut])
			}
		}
	})
}

func scanAll(b []byte) {
	for i := range b {
		if n := jsonscan.ValueEnd(b, i); n > len(b) {
			panic("past the end")
		}
	}
	_ = jsonscan.Fields(b, func(k, v []byte) error {
		_ = jsonscan.Object(v).Type()
		_, _ = jsonscan.Unquote(v)
		return nil
	})
	for v := range jsonscan.Elements(b) {
		_ = jsonscan.Object(v).Field("id")
	}
	indexPrefix(b)
	_, _ = decodePart(b)
	_, _ = decodeUsage(b)
	_, _ = decodeNative(b)
}

func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		var got string
		if err := json.Unmarshal(jsonscan.AppendString(nil, s), &got); err != nil || got != string([]rune(s)) {
			t.Fatalf("%q is written as %s and read as %q: %v", s, jsonscan.AppendString(nil, s), got, err)
		}
	})
	b := jsonscan.AppendString([]byte("x"), "a\x00\x1f\"\\\n\r\t<\u2028é")
	if string(b) != `x"a\u0000\u001f\"\\\n\r\t<`+"\u2028"+`é"` {
		t.Errorf("%s", b)
	}
}
