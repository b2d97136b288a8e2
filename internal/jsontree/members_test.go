package jsontree

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, "not JSON"},
		{`{`, "not JSON"},
		{`{}{}`, "not JSON"},
		{`{"a":}`, "not JSON"},
		{`null`, "not an object"},
		{`"{}"`, "not an object"},
		{"{\"a\":\"\xff\"}", "not UTF-8"},
		{`{"a":1,"a":2}`, `duplicate key "a"`},
		{`{"a":1,"\u0061":2}`, `duplicate key "a"`},
		{`{"stop":1}`, "stop: enough"},
		{`{}`, ""},
		{` { "a" : 1 , "b":[{"c":"}]"},"\\",[]] ,"d":"\"","e":null,"f":-1.5e3}`, `a=1 b=[{"c":"}]"},"\\",[]] d="\"" e=null f=-1.5e3`},
		{`{"":{},"x y":true}`, `={} x y=true`},
	} {
		var got []string
		err := Members([]byte(tt.in), func(key string, value []byte) error {
			if key == "stop" {
				return errors.New("enough")
			}
			got = append(got, key+"="+string(value))
			return nil
		})
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != tt.want && (err == nil || !strings.HasPrefix(text, tt.want)) {
			t.Errorf("%s: got %s", tt.in, text)
		}
	}
}

// What Members finds is what encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2,"]"]}}`, `{"a\n":"\\\""}`, ` {"a" : null}`, `[]`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := map[string]any{}
		err := Members(in, func(key string, value []byte) error {
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatalf("%q is no value: %v", value, err)
			}
			got[key] = v
			return nil
		})
		if err != nil {
			return
		}
		var want map[string]any
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("%q was read, and is not JSON: %v", in, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) || !maps.EqualFunc(got, want, func(any, any) bool { return true }) {
			t.Fatalf("%q: got %s, want %s", in, a, b)
		}
	})
}
