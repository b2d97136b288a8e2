package egress

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/registries"
)

// parseEntries parses an entry. A registry name stands for one entry per host of the registry.
func parseEntries(text string) ([]entry, *entryError) {
	hosts := registries.Hosts(text)
	if hosts == nil && strings.HasPrefix(text, "@") {
		return nil, &entryError{fmt.Sprintf("unknown package registry %q", text), "the registries are " + strings.Join(registries.Names(), ", ")}
	}
	if hosts == nil {
		e, entryErr := parseEntry(text)
		return []entry{e}, entryErr
	}
	var list []entry
	for _, host := range hosts {
		list = append(list, entry{text: text, kind: oneName, name: host})
	}
	return list, nil
}
