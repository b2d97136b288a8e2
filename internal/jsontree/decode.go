package jsontree

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Decode strictly decodes one JSON text into v, a pointer to a struct. The following are errors:
// whatever [Parse] rejects, a field that v does not have, a key that differs in case, null, and a
// value of a different type. The error is an *[Error] with the position and the path of the value.
func Decode(source []byte, v any) error {
	root, err := Parse(source)
	if err != nil {
		return err
	}
	return root.Decode(source, v)
}

// Decode decodes one value of a parsed text, in the same way as the function Decode.
func (n *Node) Decode(source []byte, v any) error {
	if err := n.fits(reflect.TypeOf(v).Elem(), ""); err != nil {
		return err
	}
	err := json.Unmarshal(source[n.At:n.End], v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Error{Offset: n.At, Path: e.Field, What: fmt.Sprintf("is %s and cannot be %s", e.Value, e.Type), Err: ErrType}
	}
	if err != nil {
		return &Error{Offset: n.At, What: "does not fit: " + err.Error(), Err: ErrType}
	}
	return nil
}

// fits compares the structure of a value with the structure of a type. path is the path of the
// value.
func (n *Node) fits(t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := kindOf(t)
	if want != "" && n.Kind != want {
		return &Error{Offset: n.At, Path: path, What: fmt.Sprintf("is %s, and must be %s", n.Kind, want), Err: ErrType}
	}
	switch {
	case want == Object && t.Kind() == reflect.Map:
		for i := range n.Members {
			if err := n.Members[i].Value.fits(t.Elem(), join(path, n.Members[i].Key)); err != nil {
				return err
			}
		}
	case want == Object:
		known := fields(t)
		for i := range n.Members {
			m := &n.Members[i]
			f, ok := known[m.Key]
			if !ok {
				return &Error{
					Offset: m.At, Path: path, What: fmt.Sprintf("has no field %q", m.Key),
					Hint: "valid fields: " + strings.Join(slices.Sorted(maps.Keys(known)), ", "), Err: ErrType,
				}
			}
			if err := m.Value.fits(f, join(path, m.Key)); err != nil {
				return err
			}
		}
	case want == List:
		for i := range n.Items {
			if err := n.Items[i].fits(t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// kindOf returns the kind of JSON value from which a type is decoded, or "" if the type decodes
// itself.
func kindOf(t reflect.Type) Kind {
	p := reflect.PointerTo(t)
	switch {
	case p.Implements(unmarshaler):
		return ""
	case p.Implements(textUnmarshaler):
		return Text
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return Object
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return Text // as base64
		}
		return List
	case reflect.String:
		return Text
	case reflect.Bool:
		return Bool
	case reflect.Interface:
		return ""
	}
	return Number
}

// fields returns the fields of a struct by their JSON names.
func fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			maps.Copy(out, fields(f.Type))
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			maps.Copy(out, fields(f.Type.Elem()))
		case !f.IsExported() || f.Tag.Get("json") == "-":
		case name == "":
			out[f.Name] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}
