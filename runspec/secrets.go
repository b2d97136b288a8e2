package runspec

// MaskSecrets masks the secrets in the title and system prompts of a spec, because a spec is
// recorded. It rejects a secret in other fields, where masking would break the run after a restart.
// mask returns a text with its secrets masked. The error is an *[Error].
func (s *Spec) MaskSecrets(mask func(text string) string) error {
	for _, text := range []*string{&s.Session.Title, &s.Instructions.System, &s.Instructions.AppendSystem} {
		*text = mask(*text)
	}
	type part struct{ field, text string }
	parts := []part{{"model_options.base_url", s.ModelOptions.BaseURL}, {"agents", string(s.Agents)}}
	for _, text := range s.Permissions.Settings {
		parts = append(parts, part{"permissions.settings", text})
	}
	for _, text := range s.MCP.Configs {
		parts = append(parts, part{"mcp.configs", text})
	}
	for _, p := range parts {
		if mask(p.text) != p.text {
			return &Error{
				p.field, "contains a secret, and the run spec is stored in the log",
				"write the name of a variable instead, such as ${API_KEY}, or name a file",
			}
		}
	}
	return nil
}
