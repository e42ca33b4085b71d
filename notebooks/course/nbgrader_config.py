"""How nbgrader makes the students' versions of the lessons, and marks what they hand in."""

c = get_config()  # nbgrader defines it

c.CourseDirectory.course_id = "gradients"
# Kernels have no `raise`: with nbgrader's own placeholder, an empty answer would be an error of syntax.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\n..."}
