package purity

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
)

// checkPrinting reports what would put an address into a text: the verb %p,
// and operands that print as one. A function counts as printing when its last
// parameter is ...any; with a string before it, that is the format. So the
// project's own wrappers of fmt are covered too.
func (f *file) checkPrinting() {
	for cursor := range f.root.Preorder((*ast.CallExpr)(nil)) {
		call := cursor.Node().(*ast.CallExpr)
		if builtin, ok := f.callee(call).(*types.Builtin); ok && builtin.Name() == "panic" {
			f.checkOperands(call.Args)
			continue
		}
		signature, ok := underlying(f.pass.TypesInfo.TypeOf(call.Fun)).(*types.Signature)
		if !ok || !takesAny(signature) {
			continue
		}
		first := signature.Params().Len() - 1 // of the operands
		if first > 0 && isString(signature.Params().At(first-1).Type()) {
			f.checkFormat(call.Args[first-1])
		}
		if !call.Ellipsis.IsValid() && len(call.Args) > first {
			f.checkOperands(call.Args[first:])
		}
	}
}

// takesAny tells whether the last parameter is ...any.
func takesAny(s *types.Signature) bool {
	if !s.Variadic() {
		return false
	}
	last, ok := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice)
	return ok && types.Identical(last.Elem(), types.Universe.Lookup("any").Type())
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

// checkFormat reports %p in a constant format.
func (f *file) checkFormat(format ast.Expr) {
	value := f.pass.TypesInfo.Types[format].Value
	if value == nil || value.Kind() != constant.String {
		return
	}
	if slices.Contains(verbs(constant.StringVal(value)), 'p') {
		f.report(format.Pos(), "%%p in ring 0 prints an address: print an id")
	}
}

// verbs returns the verbs of a format: the first letter or percent sign behind
// each percent sign, past flags, width, precision and argument index.
func verbs(format string) []byte {
	var found []byte
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return found
		}
		rest = strings.TrimLeft(rest, "+-# 0123456789.*[]")
		if rest == "" {
			return found
		}
		found = append(found, rest[0])
		format = rest[1:]
	}
}

func (f *file) checkOperands(operands []ast.Expr) {
	for _, operand := range operands {
		t := f.pass.TypesInfo.TypeOf(operand)
		if printsAddress(t, true, nil) {
			f.report(operand.Pos(), "a %s prints as an address, or holds something that does: print an id", types.TypeString(t, types.RelativeTo(f.pass.Pkg)))
		}
	}
}

// printsAddress tells whether fmt prints an address for a value of type t: a
// pointer, channel or function, or one within. At the top, fmt follows one
// pointer to a struct, array, slice or map. What an interface holds is not
// known. outer lists the types around t, which end the walk.
func printsAddress(t types.Type, top bool, outer []types.Type) bool {
	if formatsItself(t) {
		return false
	}
	pointer, isPointer := t.Underlying().(*types.Pointer)
	if isPointer {
		return !top || !fmtFollows(pointer.Elem()) || printsAddress(pointer.Elem(), false, outer)
	}
	if slices.ContainsFunc(outer, func(o types.Type) bool { return types.Identical(o, t) }) {
		return false
	}
	outer = append(outer, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Chan, *types.Signature:
		return true
	case *types.Slice:
		return printsAddress(u.Elem(), false, outer)
	case *types.Array:
		return printsAddress(u.Elem(), false, outer)
	case *types.Map:
		return printsAddress(u.Key(), false, outer) || printsAddress(u.Elem(), false, outer)
	case *types.Struct:
		for field := range u.Fields() {
			if printsField(field, outer) {
				return true
			}
		}
	}
	return false
}

// fmtFollows tells whether fmt prints what a pointer at the top points to
// when that is a t.
func fmtFollows(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array, *types.Slice, *types.Map:
		return true
	}
	return false
}

// printsField looks at one field; fmt cannot call the methods of an
// unexported one and prints its bare value.
func printsField(field *types.Var, outer []types.Type) bool {
	t := field.Type()
	if _, isInterface := t.Underlying().(*types.Interface); !field.Exported() && !isInterface {
		t = t.Underlying()
	}
	return printsAddress(t, false, outer)
}

// formatsItself tells whether t has a method that fmt prints it by.
func formatsItself(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for _, name := range []string{"Error", "String", "Format"} {
		if methods.Lookup(nil, name) != nil {
			return true
		}
	}
	return false
}
