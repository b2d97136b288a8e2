package sandbox

// Settings are seed 000's SandboxSettings, field by field. The zero value
// restricts nothing.
type Settings struct {
	AllowedReadPaths  []string  `json:"allowedReadPaths,omitempty"`  // empty: everything may be read
	AllowedWritePaths []string  `json:"allowedWritePaths,omitempty"` // empty: everything may be written
	DeniedPaths       []string  `json:"deniedPaths,omitempty"`       // beats both
	DeniedCommands    []string  `json:"deniedCommands,omitempty"`
	AllowedCommands   *[]string `json:"allowedCommands,omitempty"` // set: only these, and DeniedCommands does not matter

	AllowNestedSandbox        bool `json:"allowNestedSandbox,omitempty"`
	AutoAllowBashIfSandboxed  bool `json:"autoAllowBashIfSandboxed,omitempty"`
	AllowUnsandboxedCommands  bool `json:"allowUnsandboxedCommands,omitempty"`
	EnableWeakerNestedSandbox bool `json:"enableWeakerNestedSandbox,omitempty"`

	IgnoreViolations map[string][]string `json:"ignoreViolations,omitempty"`
	Network          *Network            `json:"network,omitempty"`
	Ripgrep          *Ripgrep            `json:"ripgrep,omitempty"`
}

// Network is seed 000's SandboxNetworkConfig.
type Network struct {
	AllowedDomains          []string `json:"allowedDomains"`
	AllowManagedDomainsOnly bool     `json:"allowManagedDomainsOnly"`
	AllowLocalBinding       bool     `json:"allowLocalBinding"`
	AllowUnixSockets        bool     `json:"allowUnixSockets"`
	AllowAllUnixSockets     bool     `json:"allowAllUnixSockets"`
	HTTPProxyPort           *int     `json:"httpProxyPort"`
	SOCKSProxyPort          *int     `json:"socksProxyPort"`
}

// Ripgrep names the program that searches.
type Ripgrep struct {
	Command string    `json:"command"`
	Args    *[]string `json:"args,omitempty"`
}
