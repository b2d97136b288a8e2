package search

import (
	"maps"
	"slices"
	"strings"
)

// types maps language names to file name patterns, with ripgrep's names.
var types = map[string]string{
	"c": "*.{c,h}", "cpp": "*.{cc,cpp,cxx,hh,hpp,hxx,h}", "cs": "*.cs", "css": "*.{css,scss}",
	"dart": "*.dart", "docker": "*Dockerfile*", "elixir": "*.{ex,exs}", "go": "*.go", "haskell": "*.hs",
	"html": "*.{html,htm}", "java": "*.java", "js": "*.{js,jsx,mjs,cjs,vue}", "json": "*.json",
	"kotlin": "*.{kt,kts}", "lua": "*.lua", "make": "{Makefile,makefile,GNUmakefile,*.mk}",
	"markdown": "*.{md,markdown,mdx}", "md": "*.{md,markdown,mdx}", "perl": "*.{pl,pm}", "php": "*.php",
	"protobuf": "*.proto", "py": "*.{py,pyi}", "ruby": "*.{rb,rake,gemspec}", "rust": "*.rs",
	"scala": "*.scala", "sh": "*.{sh,bash,zsh}", "sql": "*.sql", "swift": "*.swift", "tf": "*.tf",
	"toml": "*.toml", "ts": "*.{ts,tsx,mts,cts}", "txt": "*.txt", "xml": "*.xml", "yaml": "*.{yaml,yml}",
	"zig": "*.zig",
}

func typeNames() string { return strings.Join(slices.Sorted(maps.Keys(types)), ", ") }
