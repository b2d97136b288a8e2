package tool

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// inferSchema returns the schema of a Go type. Only the text of the schema is created immediately.
// A run sends some thirty schemas to its model before its first request, but resolves only the
// schemas of the tools that the model calls.
func inferSchema[In any]() (*schema, error) {
	infer := sync.OnceValues(func() (*jsonschema.Schema, error) {
		s, err := jsonschema.For[In](nil)
		tighten(s)
		return s, err
	})
	resolve := sync.OnceValues(func() (*jsonschema.Resolved, error) {
		s, err := infer()
		if err != nil {
			return nil, err
		}
		return s.Resolve(nil)
	})
	if text, optional, ok := plainSchema(reflect.TypeFor[In]()); ok {
		return &schema{text: text, optional: optional, resolve: resolve}, nil
	}
	s, err := infer()
	if err != nil {
		return nil, err
	}
	out, err := newSchema(s)
	if err != nil {
		return nil, err
	}
	out.resolve = resolve
	out.text, err = json.Marshal(s)
	return out, err
}

// tighten removes "or null" from the inferred types of lists and optional pointers, because
// providers and models work better with one type per field.
func tighten(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	tighten(s.Items)
	for name, p := range s.Properties {
		tighten(p)
		if len(p.Types) == 2 && p.Types[0] == "null" && !slices.Contains(s.Required, name) {
			p.Type, p.Types = p.Types[1], nil
		}
	}
}

// plainSchema returns the tightened schema that the library would infer from a struct, as JSON, and
// the names of the optional fields. It is ten times as fast as the library, but supports only plain
// values and lists and structs of plain values. ok is false for other types.
func plainSchema(t reflect.Type) (text json.RawMessage, optional []string, ok bool) {
	if t.Kind() != reflect.Struct {
		return nil, nil, false
	}
	w := plainWriter{b: make([]byte, 0, 1<<10)}
	optional = w.object(t, "", 0)
	return w.b, optional, !w.unknown
}

type plainWriter struct {
	b       []byte
	unknown bool // an unsupported type
}

// value writes the schema of a type with its description.
func (w *plainWriter) value(t reflect.Type, about string, depth int) {
	host, _, _ := strings.Cut(t.PkgPath(), "/")
	standard := host != "" && !strings.Contains(host, ".") // some types implement their own JSON encoding
	if w.unknown = w.unknown || standard || depth > 8; w.unknown {
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		w.simple("boolean", about)
	case reflect.Int, reflect.Int64:
		w.simple("integer", about)
	case reflect.Float32, reflect.Float64:
		w.simple("number", about)
	case reflect.String:
		w.simple("string", about)
	case reflect.Slice:
		w.b = append(w.b, `{"type":"array","items":`...)
		w.value(t.Elem(), "", depth+1)
		w.about(about)
		w.b = append(w.b, '}')
	case reflect.Struct:
		w.object(t, about, depth)
	case reflect.Interface: // any value
		if about == "" {
			w.b = append(w.b, "true"...)
			return
		}
		w.b = append(w.b, `{"description":`...)
		w.text(about)
		w.b = append(w.b, '}')
	default:
		w.unknown = true
	}
}

func (w *plainWriter) simple(kind, about string) {
	w.b = append(append(append(w.b, `{"type":"`...), kind...), '"')
	w.about(about)
	w.b = append(w.b, '}')
}

func (w *plainWriter) about(about string) {
	if about != "" {
		w.b = append(w.b, `,"description":`...)
		w.text(about)
	}
}

// object writes the schema of a struct and returns the names of its optional fields.
func (w *plainWriter) object(t reflect.Type, about string, depth int) (optional []string) {
	w.b = append(w.b, `{"type":"object"`...)
	var required, names []string
	fields := flat(t, nil)
	for i, f := range fields {
		name, may, ok := fieldName(f)
		ok = ok && !slices.ContainsFunc(fields[:i], func(g reflect.StructField) bool { return g.Name == f.Name }) // one hides the other
		tag, tagged := f.Tag.Lookup("jsonschema")
		word, _, _ := strings.Cut(tag, " ")
		w.unknown = w.unknown || !ok || slices.Contains(names, name) || tagged && tag == "" || strings.Contains(word, "=")
		if w.unknown {
			return nil
		}
		if w.b = append(w.b, ','); len(names) == 0 {
			w.b = append(w.b, `"properties":{`...)
		}
		names = append(names, name)
		w.text(name)
		w.b = append(w.b, ':')
		typ := f.Type
		if may {
			optional = append(optional, name)
			if typ.Kind() == reflect.Pointer { // null means that the field is omitted
				typ = typ.Elem()
			}
		} else {
			required = append(required, name)
		}
		w.value(typ, tag, depth+1)
	}
	if len(names) == 0 { // the library treats a struct without fields differently from a struct without visible fields
		w.unknown = w.unknown || t.NumField() > 0
	} else {
		w.b = append(w.b, '}')
	}
	w.about(about)
	for i, name := range required {
		if w.b = append(w.b, ','); i == 0 {
			w.b = append(w.b, `"required":[`...)
		}
		w.text(name)
	}
	if len(required) > 0 {
		w.b = append(w.b, ']')
	}
	w.b = append(w.b, `,"additionalProperties":false}`...)
	return optional
}

// flat adds the fields of a struct to a list. The fields of an embedded struct are added at the
// place of the embedded struct.
func flat(t reflect.Type, list []reflect.StructField) []reflect.StructField {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct {
			list = flat(f.Type, list)
		} else {
			list = append(list, f)
		}
	}
	return list
}

// fieldName returns a field's JSON name, and whether it is optional. ok is false if the field is embedded
// or not encoded.
func fieldName(f reflect.StructField) (name string, may, ok bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		name = f.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		may = may || option == "omitempty" || option == "omitzero"
	}
	return name, may, f.IsExported() && !f.Anonymous && name != "-"
}

// text writes a string in the same way as encoding/json.
func (w *plainWriter) text(s string) {
	special := func(r rune) bool {
		return r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029'
	}
	if !strings.ContainsFunc(s, special) {
		w.b = jsonscan.AppendString(w.b, s)
		return
	}
	quoted, err := json.Marshal(s)
	w.unknown = w.unknown || err != nil
	w.b = append(w.b, quoted...)
}
