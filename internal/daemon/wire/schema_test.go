package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var compiled sync.Map

// schemaOf returns the schema with one of its definitions as the root.
func schemaOf(t testing.TB, def string) *jsonschema.Resolved {
	t.Helper()
	if r, ok := compiled.Load(def); ok {
		return r.(*jsonschema.Resolved)
	}
	r := compile(t, def)
	compiled.Store(def, r)
	return r
}

func compile(t testing.TB, def string) *jsonschema.Resolved {
	t.Helper()
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	if s.Defs[def] == nil {
		t.Fatalf("the schema has no %q", def)
	}
	s.AnyOf, s.AllOf = nil, []*jsonschema.Schema{{Ref: "#/$defs/" + def}}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func valid(t testing.TB, s *jsonschema.Resolved, frame []byte) error {
	t.Helper()
	var v any
	if err := json.Unmarshal(frame, &v); err != nil {
		t.Fatalf("%v in %s", err, frame)
	}
	return s.Validate(v)
}

func TestSchemaAcceptsMessages(t *testing.T) {
	client, daemon := schemaOf(t, "client"), schemaOf(t, "daemon")
	for _, frame := range frames {
		if err := valid(t, client, []byte(frame)); err != nil {
			t.Errorf("%s: %v", frame, err)
		}
	}
	for _, m := range samples() {
		if err := valid(t, daemon, Encode(m)); err != nil {
			t.Errorf("%s: %v", Encode(m), err)
		}
	}
}

// The schema rejects what parseMessage and Decode reject, as far as a schema can.
func TestSchemaRejects(t *testing.T) {
	client, daemon := schemaOf(t, "client"), schemaOf(t, "daemon")
	for _, m := range samples() {
		full := object(t, Encode(m))
		for _, field := range append(slices.Clone(fieldsByType()[m.Type()].required), "type") {
			if frame := with(t, full, field, ""); valid(t, daemon, frame) == nil {
				t.Errorf("the schema accepts %s", frame)
			}
		}
		if valid(t, daemon, with(t, full, "ts", `"2025-01-15T10:30:01"`)) == nil {
			t.Errorf("the schema accepts a %s with a ts without a zone", m.Type())
		}
		if valid(t, client, Encode(m)) == nil {
			t.Errorf("a client may send %s", Encode(m))
		}
	}
	for _, frame := range frames {
		full := object(t, []byte(frame))
		if valid(t, client, with(t, full, "bogus", "1")) == nil {
			t.Errorf("the schema accepts an unknown field in %s", frame)
		}
		if valid(t, daemon, []byte(frame)) == nil {
			t.Errorf("the daemon may send %s", frame)
		}
	}
}

// The schema accepts everything that Decode accepts. It accepts more: it does not check fields
// together, sizes in bytes, or run ids.
func TestSchemaAcceptsDecodable(t *testing.T) {
	client := schemaOf(t, "client")
	taken, refused := 0, 0
	for _, h := range readHostile(t) {
		var v any
		if len(h.frame) > 200_000 || json.Unmarshal(h.frame, &v) != nil {
			continue
		}
		err := client.Validate(v)
		if h.code == "OK" {
			taken++
			if err != nil {
				t.Errorf("line %d: %v", h.line, err)
			}
		} else if err != nil {
			refused++
		}
	}
	if taken < 20 || refused < 200 {
		t.Errorf("%d frames accepted, %d rejected", taken, refused)
	}
}

func TestSchemaSides(t *testing.T) {
	var doc struct {
		Schema string              `json:"$schema"`
		AnyOf  []map[string]string `json:"anyOf"`
		Defs   map[string]struct {
			OneOf []struct {
				Ref string `json:"$ref"`
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	client, daemon := slices.Clone(requestTypes), slices.Collect(maps.Keys(fieldsByType()))
	for side, list := range map[string][]string{"client": client, "daemon": daemon} {
		var got []string
		for _, r := range doc.Defs[side].OneOf {
			got = append(got, strings.TrimPrefix(r.Ref, "#/$defs/"+side+"."))
		}
		slices.Sort(got)
		slices.Sort(list)
		if !slices.Equal(got, list) {
			t.Errorf("%s sends %v, want %v", side, got, list)
		}
	}
	if doc.Schema != "https://json-schema.org/draft/2020-12/schema" || len(doc.AnyOf) != 2 {
		t.Errorf("the schema is %s with %v", doc.Schema, doc.AnyOf)
	}
	first := Schema()
	first[0] = 'x' // changing the returned copy
	if made, err := json.Marshal(makeSchema()); err != nil || string(made) != string(Schema()) {
		t.Errorf("the schema changed: %v", err)
	}
}

// Every field that a program reads has a description.
func TestSchemaDescribesFields(t *testing.T) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	for name, def := range s.Defs {
		for field, p := range def.Properties {
			if field != "type" && p.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}
