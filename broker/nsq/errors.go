package nsq

// Code is the first word of an error frame; clients decide on it.
type Code string

// Every code of the protocol.
const (
	CodeBadProtocol    Code = "E_BAD_PROTOCOL"    // the connection did not open with Magic
	CodeInvalid        Code = "E_INVALID"         // unknown command, wrong state, bad parameter
	CodeBadBody        Code = "E_BAD_BODY"        // the block of IDENTIFY, AUTH or MPUB
	CodeBadTopic       Code = "E_BAD_TOPIC"       // see ValidName
	CodeBadChannel     Code = "E_BAD_CHANNEL"     // see ValidName
	CodeBadMessage     Code = "E_BAD_MESSAGE"     // size of one message
	CodePubFailed      Code = "E_PUB_FAILED"      // PUB was understood and not done
	CodeMpubFailed     Code = "E_MPUB_FAILED"     // MPUB was understood and not done
	CodeDpubFailed     Code = "E_DPUB_FAILED"     // DPUB was understood and not done
	CodeSubFailed      Code = "E_SUB_FAILED"      // SUB was understood and not done
	CodeFinFailed      Code = "E_FIN_FAILED"      // not fatal: the message is not this client's to finish
	CodeReqFailed      Code = "E_REQ_FAILED"      // not fatal: the message is not this client's to requeue
	CodeTouchFailed    Code = "E_TOUCH_FAILED"    // not fatal: the message is not this client's to touch
	CodeIdentifyFailed Code = "E_IDENTIFY_FAILED" // the features asked for exclude each other
	CodeAuthDisabled   Code = "E_AUTH_DISABLED"   // AUTH, and the server asks for none
	CodeAuthFirst      Code = "E_AUTH_FIRST"      // the server asks for AUTH before anything else
	CodeAuthFailed     Code = "E_AUTH_FAILED"     // the authority could not be asked
	CodeUnauthorized   Code = "E_UNAUTHORIZED"    // the authority said no
	CodeAuthError      Code = "E_AUTH_ERROR"      // the answer to AUTH could not be made
)

// Fatal reports whether the server hangs up after an error frame of this
// code. It does for all but a failed FIN, REQ or TOUCH.
func (c Code) Fatal() bool {
	return c != CodeFinFailed && c != CodeReqFailed && c != CodeTouchFailed
}
