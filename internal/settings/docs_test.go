package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// The tables of docs/reference/settings.md are the schema; make docs writes them.
func TestReferenceSettings(t *testing.T) {
	root, _ := schemaOf(t)
	var b strings.Builder
	general := [][]string{}
	section := func(heading, about string, rows [][]string) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s", heading, docgen.Text(about), docgen.Table([]string{"key", "type", "meaning"}, rows))
	}
	for _, key := range slices.Sorted(maps.Keys(root.Properties)) {
		if p := root.Properties[key]; key != "sandbox" && p.Properties == nil && p.AdditionalProperties == nil {
			general = append(general, settingRow(key, p))
		}
	}
	section("General", "Keys at the top of a settings file.", general)
	for _, key := range slices.Sorted(maps.Keys(root.Properties)) {
		p := root.Properties[key]
		switch {
		case key == "sandbox":
			section(key, root.Defs[key].Description, settingRows(root.Defs[key], key+"."))
		case key == "hooks":
			about := p.Description + " The keys are the [hook events](hooks.md#events), with the fields of one group as values."
			section(key, "", [][]string{})
			fmt.Fprintf(&b, "%s\n\n%s\n", about, docgen.Table([]string{"key", "type", "meaning"}, slices.Concat(
				settingRows(root.Defs["hookGroup"], "hooks.EVENT[]."), settingRows(root.Defs["hook"], "hooks.EVENT[].hooks[]."), settingRows(root.Defs["seedHook"], "hooks.event[]."))))
		case key == "mcpServers":
			section(key, p.Description, settingRows(root.Defs["server"], key+".NAME."))
		case p.Properties != nil || p.AdditionalProperties != nil:
			rows := settingRows(p, key+".")
			if len(rows) == 0 {
				rows = [][]string{{docgen.Code(key + ".NAME"), settingType(p.AdditionalProperties), docgen.Text(p.Description)}}
			}
			section(key, p.Description, rows)
		}
	}
	section("deniedMcpServers, allowedMcpServers", root.Defs["serverPattern"].Description, settingRows(root.Defs["serverPattern"], "deniedMcpServers[]."))
	docgen.Parts(t, "reference/settings.md", map[string]string{"keys": strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")})
}

// settingRows are the rows of the keys of an object, and of the objects in it.
func settingRows(s *jsonschema.Schema, prefix string) (rows [][]string) {
	if s == nil {
		return nil
	}
	for _, key := range keysInOrder(s) {
		p := s.Properties[key]
		rows = append(rows, settingRow(prefix+key, p))
		rows = append(rows, settingRows(p, prefix+key+".")...)
		rows = append(rows, settingRows(p.Items, prefix+key+"[].")...)
	}
	for _, one := range s.OneOf {
		rows = append(rows, settingRows(one, prefix)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		rows = append(rows, settingRows(s.AdditionalProperties, prefix+"NAME.")...)
	}
	return rows
}

func keysInOrder(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) == len(s.Properties) {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

func settingRow(key string, p *jsonschema.Schema) []string {
	return []string{docgen.Code(key), settingType(p), docgen.Text(p.Description)}
}

// settingType is the type of a value in words.
func settingType(p *jsonschema.Schema) string {
	if p == nil {
		return "any"
	}
	switch {
	case p.Enum != nil || p.Const != nil:
		values := p.Enum
		if p.Const != nil {
			values = []any{*p.Const}
		}
		var words []string
		for _, v := range values {
			words = append(words, docgen.Code(fmt.Sprint(v)))
		}
		return strings.Join(words, ", ")
	case p.OneOf != nil:
		var kinds []string
		for _, one := range p.OneOf {
			kinds = append(kinds, settingType(one))
		}
		return strings.Join(kinds, " or ")
	case p.Types != nil:
		return strings.ReplaceAll(strings.Join(p.Types, " or "), "array", "list")
	case p.Type == "array" && p.Items != nil && p.Items.Type != "":
		return "list of " + p.Items.Type + "s"
	case p.Type == "array":
		return "list"
	case p.Type == "":
		return "any"
	}
	return p.Type
}
