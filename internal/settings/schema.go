package settings

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// SchemaID is what "$schema" of a settings file names.
const SchemaID = "https://raw.githubusercontent.com/holdfast-dev/holdfast/main/internal/settings/schema.json"

// Schema is the JSON Schema (2020-12) of a settings file, for editors. What it refuses the reader refuses, too; the
// reader looks closer: at rules, globs, and who may say what. A test holds the two together.
func Schema() []byte { return slices.Clone(schema) }
