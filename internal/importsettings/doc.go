// Package importsettings reads settings files of other agents and translates them to Holdfast's
// form, each value with its position in the original file.
//
//	.claude/settings.json ─┐
//	.codex/config.toml    ─┼─► Read ─► File: Holdfast's JSON, position of each value, unsupported settings
//	requirements.toml, …  ─┘
//
//	f, err := foreign.Read(foreign.Claude, foreign.Settings, data)
//	line, col := f.Place(offset) // of an offset in f.JSON
//
// It decides nothing: package settings decides what applies, and when.
package importsettings
