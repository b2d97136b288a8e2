package tool

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

// The schema of a type is what the library infers, tightened, whatever the type is.
func TestPlainSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkPlain(t, anyStruct(3).Draw(t, "type")) })
}

// What tools are made of is written without the library.
func TestPlainSchemaKnows(t *testing.T) {
	type option struct {
		Label   string `json:"label" jsonschema:"in a word"`
		Preview string `json:"preview,omitempty"`
	}
	type input struct {
		Path    string   `json:"path" jsonschema:"a \"path\" <with> & é"`
		Limit   *int     `json:"limit,omitempty" jsonschema:"lines"`
		Ratio   float64  `json:"ratio,omitzero"`
		Again   bool     `json:",omitempty"`
		Words   []string `json:"words,omitempty" jsonschema:"some"`
		Options []option `json:"options" jsonschema:"2 to 4"`
		First   option
		Any     any `json:"any" jsonschema:"what you like"`
		More    any `json:"more,omitempty"`
	}
	type named struct {
		option
		Name string `json:"name,omitempty"`
	}
	type hiding struct {
		option
		Label string `json:"other"`
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[input](), reflect.TypeFor[option](), reflect.TypeFor[named](), reflect.TypeFor[struct{}]()} {
		if !checkPlain(t, typ) {
			t.Errorf("%v is left to the library", typ)
		}
	}
	type circle struct {
		Inner []circle `json:"inner"`
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{ At time.Time }](), reflect.TypeFor[struct{ All map[string]int }](), reflect.TypeFor[circle](),
		reflect.StructOf([]reflect.StructField{
			{Name: "Same", Type: reflect.TypeFor[string](), Tag: `json:"x"`}, {Name: "Too", Type: reflect.TypeFor[string](), Tag: `json:"x"`},
		}),
		reflect.TypeFor[hiding](), reflect.TypeFor[struct{ *option }](), reflect.TypeFor[[]string](), reflect.TypeFor[struct{ hidden int }](),
	} {
		if checkPlain(t, typ) {
			t.Errorf("%v is taken for plain", typ)
		}
	}
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkPlain compares plainSchema with the library, and reports whether it knows the type.
func checkPlain(t failer, typ reflect.Type) bool {
	t.Helper()
	text, optional, ok := plainSchema(typ)
	if !ok {
		return false
	}
	s, err := jsonschema.ForType(typ, nil)
	if err != nil {
		t.Fatalf("%v: the library says %v, and plainSchema %s", typ, err, text)
	}
	tighten(s)
	want, err := json.Marshal(s)
	if err != nil || string(want) != string(text) {
		t.Fatalf("%v\ngot  %s\nwant %s (%v)", typ, text, want, err)
	}
	whole, err := newSchema(s)
	if err != nil {
		t.Fatalf("%v: %v", typ, err)
	}
	slices.Sort(optional)
	slices.Sort(whole.optional)
	if !slices.Equal(optional, whole.optional) {
		t.Fatalf("%v: optional %q, want %q", typ, optional, whole.optional)
	}
	return true
}

func anyStruct(depth int) *rapid.Generator[reflect.Type] {
	plain := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int64](), reflect.TypeFor[bool](), reflect.TypeFor[float64](),
	}
	odd := []reflect.Type{
		reflect.TypeFor[uint8](), reflect.TypeFor[int32](), reflect.TypeFor[any](), reflect.TypeFor[map[string]string](), reflect.TypeFor[[2]int](),
		reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Time](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[func()](), reflect.TypeFor[**int](),
	}
	return rapid.Custom(func(t *rapid.T) reflect.Type {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "D"}), 0, 4, rapid.ID).Draw(t, "names")
		var fields []reflect.StructField
		for _, name := range names {
			typ := rapid.SampledFrom(plain).Draw(t, "plain")
			switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); {
			case kind == 0:
				typ = rapid.SampledFrom(odd).Draw(t, "odd")
			case kind < 5 && depth > 0:
				typ = anyStruct(depth-1).Draw(t, "struct")
			}
			if rapid.IntRange(0, 3).Draw(t, "list") == 0 {
				typ = reflect.SliceOf(typ)
			}
			if rapid.IntRange(0, 3).Draw(t, "pointer") == 0 {
				typ = reflect.PointerTo(typ)
			}
			tag := rapid.SampledFrom([]string{
				"", `json:"a"`, `json:"b,omitempty"`, `json:",omitzero"`, `json:"-"`, `json:"-,"`, `json:"c,string"`, `json:"q\"<é>"`,
			}).Draw(t, "json")
			tag += rapid.SampledFrom([]string{"", "", ` jsonschema:"what it is"`, ` jsonschema:"a<b & \"c\"\n"`, ` jsonschema:""`, ` jsonschema:"x=1 y"`}).Draw(t, "about")
			fields = append(fields, reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(tag)})
		}
		return reflect.StructOf(fields)
	})
}
