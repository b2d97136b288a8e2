package policy

// Internal names that the external tests need.
type Kind = actionKind

const (
	KindCommand     = kindCommand
	KindDangerous   = kindDangerous
	KindEdit        = kindEdit
	KindEditOutside = kindEditOutside
	KindFetch       = kindFetch
	KindMCP         = kindMCP
	KindNetwork     = kindNetwork
	KindOther       = kindOther
	KindReach       = kindReach
	KindRead        = kindRead
	KindReadOutside = kindReadOutside
	KindSafe        = kindSafe
	KindSecret      = kindSecret
	KindUnclear     = kindUnclear
)

// ProtectedName is the name of the link of protected paths.
const ProtectedName = protectedName

func Kinds() []Kind { return allKinds() }

func (m Mode) Decide(k Kind) Effect { return m.decide(k) }
