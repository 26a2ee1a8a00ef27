// A compiler of one's own in C++, with a dialect of its own and passes of its own beside those of zb: it builds a train
// step, lets zb split the gradients, cut the model in two and sort ops into F, B and W, and counts the ops of each.
//
// usage: embed [wrong]     with "wrong" the program is one that zb refuses. Exit status: 0 done, 1 refused
#include <mlir/CAPI/IR.h>
#include <mlir/CAPI/Pass.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Dialect.h>
#include <mlir/Pass/PassManager.h>
#include <zb/mlir.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

// ---- The dialect, written by hand: ops of tensors, told apart by their names ----

#define OP(Class, NAME, RESULTS)                                                                                       \
  class Class : public mlir::Op<Class, mlir::OpTrait::ZeroRegions, mlir::OpTrait::VariadicOperands, RESULTS,           \
                                mlir::OpTrait::ZeroSuccessors> {                                                       \
  public:                                                                                                              \
    using Op::Op;                                                                                                      \
    static llvm::StringRef getOperationName() { return NAME; }                                                         \
    static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }                                          \
  };

template <typename Concrete> using Two = mlir::OpTrait::NResults<2>::Impl<Concrete>;
template <typename Concrete> using One = mlir::OpTrait::OneResult<Concrete>;

OP(MixOp, "toycc.mix", One)
OP(MixGradsOp, "toycc.mix_grads", Two)
OP(DxOp, "toycc.dx", One)
OP(DwOp, "toycc.dw", One)
OP(ActOp, "toycc.act", One)
OP(ActGradOp, "toycc.act_grad", One)
OP(LossOp, "toycc.loss", One)
OP(StepOp, "toycc.step", One)

class ToyDialect : public mlir::Dialect {
public:
  explicit ToyDialect(mlir::MLIRContext *context) : Dialect("toycc", context, mlir::TypeID::get<ToyDialect>()) {
    addOperations<MixOp, MixGradsOp, DxOp, DwOp, ActOp, ActGradOp, LossOp, StepOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "toycc"; }
};

static mlir::Operation *create(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef name,
                               mlir::TypeRange types, mlir::ValueRange operands) {
  mlir::OperationState state(location, name, operands, types);
  return builder.create(state);
}

// ---- What zb may know of its ops ----

static zb_result inferMix(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape &x = op->operands[0], &w = op->operands[1];
  if (x.rank != 2 || w.rank != 2 || x.dims[1] != w.dims[0])
    return zb_op_fail(error, "multiply [m, k] by [k, n]", "the matrices do not fit");
  results[0] = x;
  results[0].dims[1] = w.dims[1];
  return ZB_OK;
}

static MlirValue splitMix(zb_builder *b, MlirOperation op, int result) {
  mlir::Operation *grads = unwrap(op);
  mlir::OpBuilder builder(grads);
  mlir::Value x = grads->getOperand(0), w = grads->getOperand(1), dy = grads->getOperand(2);
  mlir::Operation *made =
      result == 0 ? create(builder, grads->getLoc(), "toycc.dx", grads->getResult(0).getType(), {dy, w})
                  : create(builder, grads->getLoc(), "toycc.dw", grads->getResult(1).getType(), {x, dy});
  for (int i = 0; i < b->mark_count; ++i)
    made->setAttr(unwrap(b->marks[i].name), unwrap(b->marks[i].attribute));
  return wrap(mlir::Value(made->getResult(0)));
}

static zb_op_def row(const char *name, const char *operands, const char *results, unsigned traits) {
  zb_op_def def = {};
  def.name = name;
  def.operands = operands;
  def.results = results;
  def.op_class = ZB_CLASS_FOREIGN;
  def.traits = traits;
  return def;
}

static zb_status registerRows() {
  static zb_op_def rows[] = {
      row("toycc.mix", "x, w", "y", ZB_TRAIT_PURE),
      row("toycc.mix_grads", "x, w, dy", "dx, dw", ZB_TRAIT_PURE),
      row("toycc.dx", "dy, w", "dx", ZB_TRAIT_PURE),
      row("toycc.dw", "x, dy", "dw", ZB_TRAIT_PURE),
      row("toycc.act", "x", "y", ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE),
  };
  rows[0].infer = inferMix;
  rows[1].split = splitMix;
  for (zb_op_def &def : rows)
    if (zb_status status = zb_op_register(&def)) return status;
  return nullptr;
}

// ---- The program ----

static mlir::OwningOpRef<mlir::ModuleOp> build(mlir::MLIRContext &context, bool wrong) {
  mlir::OpBuilder b(&context);
  mlir::Location here = mlir::FileLineColLoc::get(&context, "model.toy", 3, 7);
  mlir::Type f32 = b.getF32Type();
  auto tensor = [&](llvm::ArrayRef<int64_t> shape) { return mlir::RankedTensorType::get(shape, f32); };
  mlir::Type x = tensor({4, 8}), w0 = tensor({wrong ? 9 : 8, 16}), w1 = tensor({16, 16}), h = tensor({4, 16});
  auto module = mlir::ModuleOp::create(here);
  module->setAttr("zb.level", b.getStringAttr("differentiated"));
  b.setInsertionPointToEnd(module.getBody());
  auto function = mlir::func::FuncOp::create(here, "step", b.getFunctionType({x, w0, w1}, {tensor({}), w0, w1}));
  module.push_back(function);
  function.setArgAttr(0, "zb.input", b.getStringAttr("x"));
  function.setArgAttr(1, "zb.param", b.getStringAttr("w0"));
  function.setArgAttr(2, "zb.param", b.getStringAttr("w1"));
  function.setResultAttr(0, "zb.loss", b.getUnitAttr());
  function.setResultAttr(1, "zb.update", b.getStringAttr("w0"));
  function.setResultAttr(2, "zb.update", b.getStringAttr("w1"));
  mlir::Block *block = function.addEntryBlock();
  b.setInsertionPointToEnd(block);
  auto arg = [&](int i) -> mlir::Value { return block->getArgument(i); };
  auto one = [&](llvm::StringRef name, mlir::Type type, mlir::ValueRange operands) -> mlir::Value {
    return create(b, here, name, type, operands)->getResult(0);
  };
  auto accumulate = [&](mlir::Value gradient, llvm::StringRef parameter) {
    mlir::OperationState state(here, "zb.accumulate", gradient, gradient.getType());
    state.addAttribute("parameter", b.getStringAttr(parameter));
    state.addAttribute("use", b.getI64IntegerAttr(0));
    return b.create(state)->getResult(0);
  };
  mlir::Value a = one("toycc.mix", h, {arg(0), arg(1)});
  mlir::Operation *cut = create(b, mlir::NameLoc::get(b.getStringAttr("cut")), "toycc.act", h, a);
  mlir::Value y = one("toycc.mix", h, {cut->getResult(0), arg(2)}), loss = one("toycc.loss", tensor({}), y);
  mlir::Operation *g1 = create(b, here, "toycc.mix_grads", {h, w1}, {cut->getResult(0), arg(2), y});
  mlir::Value s1 = accumulate(g1->getResult(1), "w1"), da = one("toycc.act_grad", h, {a, g1->getResult(0)});
  mlir::Operation *g0 = create(b, here, "toycc.mix_grads", {x, w0}, {arg(0), arg(1), da});
  mlir::Value s0 = accumulate(g0->getResult(1), "w0");
  mlir::Value results[] = {loss, one("toycc.step", w0, {arg(1), s0}), one("toycc.step", w1, {arg(2), s1})};
  create(b, here, "func.return", {}, results);
  return module;
}

// A pass of one's own, behind those of zb.
class CountClasses : public mlir::PassWrapper<CountClasses, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountClasses)
  void runOnOperation() override {
    std::map<std::string, int> counts;
    getOperation().walk([&](mlir::Operation *op) {
      auto kind = op->getAttrOfType<mlir::StringAttr>("zb.class");
      auto stage = op->getAttrOfType<mlir::IntegerAttr>("zb.stage");
      if (kind && stage) ++counts[std::to_string(stage.getInt()) + kind.str()];
    });
    for (const auto &[kind, count] : counts)
      std::printf("%s %d\n", kind.c_str(), count);
  }
};

int main(int count, char **arguments) {
  const bool wrong = count == 2 && std::strcmp(arguments[1], "wrong") == 0;
  if (zb_status status = registerRows()) return std::fputs(zb_status_text(status), stderr), 70;
  mlir::DialectRegistry registry;
  registry.insert<ToyDialect, mlir::func::FuncDialect>();
  mlirDialectHandleInsertDialect(zb_dialect_handle(), wrap(&registry));
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream out(said);
    out << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = build(context, wrong);
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  zb_status status = zb_passes_add(wrap(static_cast<mlir::OpPassManager *>(&manager)),
                                   "zb-split-grad,zb-partition{ranks=2,cuts=cut},zb-classify");
  if (status) return std::fputs(zb_status_text(status), stderr), 70;
  manager.addPass(std::make_unique<CountClasses>());
  const bool ran = mlir::succeeded(manager.run(*module));
  std::fputs(said.c_str(), stderr);
  return ran ? 0 : 1;
}
