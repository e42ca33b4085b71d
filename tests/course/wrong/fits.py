"""Wrong answers to lesson 7."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "misfit",
        """
x += dt * v
v += dt * (-theta[0] * x - theta[1] * v)
loss[None] += 0.5 * (x - data[t]) ** 2
""",
        "first the velocity, then the place",
    ),
    Wrong(
        "misfit",
        """
old = v
v += dt * (-theta[0] * x - theta[1] * v)
x += dt * old
loss[None] += 0.5 * (x - data[t]) ** 2
""",
        "the place moves with the old velocity",
    ),
    Wrong(
        "misfit",
        """
loss[None] += 0.5 * (x - data[t]) ** 2
v += dt * (-theta[0] * x - theta[1] * v)
x += dt * v
""",
        "was measured after the step",
    ),
    Wrong(
        "misfit",
        """
v += dt * (-theta[0] * x - theta[1] * v)
x += dt * v
loss[None] = 0.5 * (x - data[t]) ** 2
""",
        "only the last measurement counts",
    ),
    Wrong(
        "misfit",
        """
v += dt * (-theta[0] * x + theta[1] * v)
x += dt * v
loss[None] += 0.5 * (x - data[t]) ** 2
""",
        "the friction pushes",
    ),
    Wrong(
        "misfit",
        """
v += dt * (-theta[0] * x - theta[1] * v)
x += dt * v
loss[None] += 0.5 * (x - data[t])
""",
        "and not their squares",
    ),
    Wrong(
        "newton",
        """
for _ in range(30):
    loss, gradient, hessian = evaluate(theta)
    theta = theta - np.linalg.solve(hessian, gradient)
return theta
""",
        "halve it until the loss falls",
    ),
    Wrong(
        "newton",
        """
for _ in range(30):
    loss, gradient, hessian = evaluate(theta)
    theta = theta + np.linalg.solve(hessian, gradient)
return theta
""",
        "The step goes uphill",
    ),
    Wrong(
        "newton",
        """
while True:
    loss, gradient, hessian = evaluate(theta)
    if np.linalg.norm(gradient) < 1e-7:
        return theta
    theta = theta - 0.02 * gradient
""",
        "Steps along the gradient alone crawl",
    ),
    Wrong(
        "newton",
        """
loss, gradient, hessian = evaluate(theta)
return theta - np.linalg.solve(hessian, gradient)
""",
        "Go on until it is smaller than 1e-6",
    ),
    Wrong(
        "newton",
        """
for _ in range(45):
    loss, gradient, hessian = evaluate(theta)
    if np.linalg.norm(gradient) < 1e-7:
        break
    step = gradient / np.diag(hessian)
    while evaluate(theta - step)[0] > loss:
        step /= 2
    theta = theta - step
return theta
""",
        "solve with the whole Hessian",
    ),
]
